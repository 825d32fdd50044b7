"""What people install and deploy: the wheel, the images, the chart, the units, and the pages that come with them."""
